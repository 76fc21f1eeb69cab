"""Sources fetched by schedule into landing."""
