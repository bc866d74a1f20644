"""Records as text and as files, in the formats that programs read. Which records: ``storage/records``."""
