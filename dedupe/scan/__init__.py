"""A scan's phases, one module each: values in, values out."""
