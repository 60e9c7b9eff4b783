"""Joint names that engines know, given to a rig by the roles of its joints."""

from kinema.export.names.rename import check_required, renamed, root_name

__all__ = ["check_required", "renamed", "root_name"]
