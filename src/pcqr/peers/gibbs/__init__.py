"""A label drawn from the exact Gibbs posterior (Dwork and Feldman 2018; Dagan and Feldman 2020). Proof: gibbs.md."""
