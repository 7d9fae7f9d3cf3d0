"""A release that is served elsewhere (`pcqr serve`), with the estimator face. Needs the extra `client`."""
