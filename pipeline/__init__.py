"""Spark: data enters and is transformed here. The only floor that imports pyspark; nothing here knows HTTP."""
