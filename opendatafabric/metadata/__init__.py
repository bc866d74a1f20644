"""What a MetadataBlock can say, as frozen values. Codecs are driven by the declarations in these modules."""
