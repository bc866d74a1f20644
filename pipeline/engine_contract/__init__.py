"""The contract between coordinators and engines (spec: Engine Contract), from both sides, over gRPC.

``served`` turns requests of a coordinator into jobs of our engine, ``server`` is the service around it, ``client`` asks
any engine by its address. Files pass by their paths; messages are in ``opendatafabric.codec.engine_codec``.
"""
