"""The Open Data Fabric format itself: identifiers, metadata, codecs, chain rules and hashes. Pure: no I/O, no clock."""
