"""What can go wrong. Files that are not there or can't be read are the OSErrors of Python."""


class Error(Exception):
    """Anything that taste refuses."""


class DataError(Error, ValueError):
    """Data that can't be read, or do not fit the model."""


class ModelError(Error, ValueError):
    """A model that can't be read, differentiated or run."""


class ChoiceError(Error, ValueError):
    """An argument, or arguments that do not go together."""


class DetectorError(Error, ValueError):
    """A detector that can't be read, or does not have what is asked for."""


class Cancelled(Error):
    """Work that was stopped."""
