"""The page at `/`: plain HTML, CSS and ES modules, served from this directory."""
