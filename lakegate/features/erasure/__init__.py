"""A data subject's rows deleted for ever."""
