"""What queries may be made of: every kind of node, every function, and what to write instead of some that are refused.

These are lists of what is allowed: what is on none of them, also what a later Spark brings, is refused. A function is
here if its result depends on its arguments alone, it reaches nothing outside the query, and it is not one of Spark's
sketches or codecs of other libraries.
"""

from __future__ import annotations

from typing import Final

_CATALYST: Final = "org.apache.spark.sql.catalyst."


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _nodes(package: str, names: str) -> frozenset[str]:
    return frozenset(f"{_CATALYST}{package}.{name}" for name in names.split())


PLANS: Final = _nodes(
    "plans.logical",
    "Aggregate Distinct Except Expand Filter Generate GlobalLimit Intersect Join LateralJoin LocalLimit"
    " LocalRelation Offset OneRowRelation Pivot Project RepartitionByExpression Sort SubqueryAlias Tail Union"
    " UnresolvedWith Unpivot UnresolvedUnpivot WithWindowDefinition",
)
"""Nodes of a plan: no commands, no scripts, no hints, no samples, nothing that reads or writes but by a relation."""

UNRESOLVED: Final = _nodes(
    "analysis",
    "UnresolvedAlias UnresolvedAttribute UnresolvedExtractValue UnresolvedFunction UnresolvedGenerator"
    " UnresolvedHaving UnresolvedInlineTable UnresolvedOrdinal UnresolvedQualify UnresolvedRelation"
    " UnresolvedStar UnresolvedStarExceptOrReplace UnresolvedSubqueryColumnAliases"
    " UnresolvedTableValuedFunction UnresolvedTVFAliases UnresolvedWindowExpression MultiAlias",
)
"""Names that Spark has yet to look up; relations and functions among them have lists of their own."""

EXPRESSIONS: Final = _nodes(
    "expressions",
    "Add Alias And BaseGroupingSets BitwiseAnd BitwiseNot BitwiseOr BitwiseXor CaseWhen Cast Coalesce Concat"
    " CreateArray CreateMap CreateNamedStruct Cube Divide EqualNullSafe EqualTo Exists Extract GreaterThan"
    " GreaterThanOrEqual GroupingSets If In InSubquery IntegralDivide IsNotNull IsNull IsUnknown"
    " LambdaFunction LateralSubquery LessThan LessThanOrEqual Like LikeAll LikeAny ListQuery Literal Multiply"
    " Not NotLikeAll NotLikeAny NamedLambdaVariable Or Overlay RLike Remainder Rollup ScalarSubquery SortOrder"
    " SpecifiedWindowFrame StringLocate StringTrim StringTrimBoth StringTrimLeft StringTrimRight Substring"
    " Subtract TimestampAdd TimestampDiff TryCast UnaryMinus UnaryPositive UnresolvedNamedLambdaVariable"
    " UnresolvedWindowExpression"
    " WindowExpression WindowSpecDefinition WindowSpecReference ShiftLeft ShiftRight ShiftRightUnsigned"
    " AttributeReference Between ILike",
)

PARTS: Final = (
    _nodes("expressions", "ExprId Ascending$ Descending$ NullsFirst$ NullsLast$ CurrentRow$ RowFrame$ RangeFrame$")
    | _nodes("expressions", "UnboundedPreceding$ UnboundedFollowing$ UnspecifiedFrame$ FunctionIdentifier")
    | _nodes("plans", "Inner$ Cross$ LeftOuter$ RightOuter$ FullOuter$ LeftSemi$ LeftAnti$ UsingJoin NaturalJoin")
    | frozenset({f"{_CATALYST}AliasIdentifier", f"{_CATALYST}FunctionIdentifier", f"{_CATALYST}TableIdentifier"})
    | frozenset({"scala.Tuple2", "scala.Tuple3", "scala.Some", "scala.None$"})
)
"""What nodes are made of besides nodes: kinds of joins and orders, names."""

ORDERED: Final = _nodes(
    "expressions.aggregate",
    "AggregateExpression AnyValue Complete$ First Last",
)
"""Nodes of functions that depend on the order of rows and that the parser knows itself."""

NODES: Final = PLANS | UNRESOLVED | EXPRESSIONS | PARTS

MAKE_NO_TEXT: Final = _words(
    """
    Add AddMonths DateAdd DateAddInterval DateAddYMInterval DateFromUnixDate DateSub Divide IntegralDivide LastDay
    MakeDTInterval MakeDate MakeInterval MakeTimestamp MakeYMInterval MicrosToTimestamp MillisToTimestamp Multiply
    MultiplyDTInterval Remainder SecondsToTimestamp Subtract TimestampAddInterval TimestampAddYMInterval UnaryMinus
    """
)
"""Nodes that give a number or a time, whatever they are given."""

FUNCTIONS: Final = _words(
    """
    ! != % & * + - / < << <= <=> <> = == > >= >> >>> ^ | || ~ and between case coalesce div equal_null greatest
    if ifnull in isnan isnotnull isnull least mod nanvl negative not nullif nullifzero nvl nvl2 or pmod positive
    when zeroifnull typeof assert_true
    abs acos acosh asin asinh atan atan2 atanh bin bit_count bit_get bround cbrt ceil ceiling conv cos cosh cot
    csc degrees e exp expm1 factorial floor getbit hex hypot ln log log10 log1p log2 pi pow power radians rint
    round sec shiftleft shiftright shiftrightunsigned sign signum sin sinh sqrt tan tanh try_add try_divide
    try_mod try_multiply try_subtract unhex width_bucket
    ascii base64 bit_length btrim char char_length character_length chr concat concat_ws contains decode elt
    encode endswith find_in_set format_number format_string ilike initcap instr is_valid_utf8
    jaro_winkler_similarity lcase left len length levenshtein like locate lower lpad ltrim luhn_check
    make_valid_utf8 mask octet_length overlay position printf quote regexp regexp_count regexp_extract
    regexp_extract_all regexp_instr regexp_like regexp_replace regexp_substr repeat replace reverse right rlike
    rpad rtrim sentences soundex space split split_part startswith str_to_map string substr substring
    substring_index to_binary to_char to_number to_varchar translate trim try_to_binary try_to_number
    try_validate_utf8 ucase unbase64 upper url_decode url_encode try_url_decode validate_utf8 parse_url
    try_parse_url
    add_months convert_timezone date_add date_diff date_format date_from_unix_date date_part date_sub date_trunc
    dateadd datediff datepart day dayname dayofmonth dayofweek dayofyear extract from_unixtime
    from_utc_timestamp hour last_day make_date make_dt_interval make_interval make_timestamp make_timestamp_ltz
    make_timestamp_ntz make_ym_interval minute month monthname months_between next_day quarter second
    timestamp_micros timestamp_millis timestamp_seconds to_date to_timestamp to_timestamp_ltz to_timestamp_ntz
    to_unix_timestamp to_utc_timestamp trunc try_make_interval try_make_timestamp try_to_date try_to_timestamp
    unix_date unix_micros unix_millis unix_seconds unix_timestamp weekday weekofyear year window session_window
    window_time time_bucket
    bigint binary boolean cast date decimal double float int smallint timestamp tinyint
    aggregate array array_append array_compact array_contains array_distinct array_except array_insert
    array_intersect array_join array_max array_min array_position array_prepend array_remove array_repeat
    array_size array_sort array_union arrays_overlap arrays_zip cardinality element_at exists
    explode explode_outer filter flatten forall get inline inline_outer map map_concat map_contains_key
    map_entries map_filter map_from_arrays map_from_entries map_keys map_values map_zip_with named_struct
    posexplode posexplode_outer range reduce sequence size slice sort_array stack struct transform
    transform_keys transform_values try_element_at zip_with
    from_csv from_json get_json_object json_array_length json_object_keys json_tuple schema_of_csv
    schema_of_json to_csv to_json crc32 md5 sha sha1 sha2 hash xxhash64
    any avg bit_and bit_or bit_xor bool_and bool_or corr count count_if covar_pop covar_samp cume_dist
    dense_rank every grouping grouping_id kurtosis lag lead max mean median min ntile nth_value percent_rank
    percentile percentile_cont percentile_disc rank regr_avgx regr_avgy regr_count regr_intercept regr_r2
    regr_slope regr_sxx regr_sxy regr_syy row_number skewness some std stddev stddev_pop stddev_samp sum try_avg
    try_sum var_pop var_samp variance approx_count_distinct
    """
)
"""Functions whose result depends on their arguments alone."""

ORDER_DEPENDENT: Final = _words(
    "any_value array_agg approx_percentile collect_list collect_set first first_value histogram_numeric last last_value"
    " listagg max_by min_by mode percentile_approx string_agg"
)
"""Functions whose result depends on the order of rows: for those who keep rows in one order from end to end."""

NEED_ARGUMENTS: Final = _words("unix_timestamp")
"""Functions that ask the clock if they are given nothing."""

CLOCK_WORDS: Final = _words(
    "curdate current_catalog current_database current_date current_path current_schema current_time current_timestamp"
    " current_timezone current_user localtime localtimestamp now session_user user"
)
"""Functions that are called without parentheses: to the parser they look like columns."""

_TIME_HINT: Final = "use event_time or system_time of the records: a query gives the same on any day"
_PLACE_HINT: Final = "a query gives the same wherever and for whomever it runs"
_RANDOM_HINT: Final = "a query gives the same whenever it runs; derive the value from the records, e.g. xxhash64(key)"
_ORDER_HINT: Final = "its result depends on the order of rows: use min, max, or array_sort over what is collected"

HINTS: Final = {
    **dict.fromkeys(CLOCK_WORDS, _TIME_HINT),
    **dict.fromkeys(_words("current_user session_user user version current_timezone"), _PLACE_HINT),
    **dict.fromkeys(_words("current_catalog current_database current_path current_schema"), _PLACE_HINT),
    **dict.fromkeys(_words("rand randn random randstr shuffle uniform uuid"), _RANDOM_HINT),
    **dict.fromkeys(ORDER_DEPENDENT, _ORDER_HINT),
    "monotonically_increasing_id": "use offset, or row_number() over a unique order",
    "spark_partition_id": "partitions are not part of the data",
    "unix_timestamp": "give it a time: unix_timestamp(event_time)",
}
"""What to write instead, by function."""

NODE_WORDS: Final = {
    "ScriptTransformation": ("transform", "TRANSFORM … USING runs programs"),
    "UnresolvedHint": ("/*+", "leave hints out: they change nothing but the way to the result"),
    "AggregateExpression": ("first last any_value", _ORDER_HINT),
    "Sample": ("tablesample", "filter by a hash of a key, e.g. xxhash64(key) % 10 = 0"),
    "PipeOperator": ("|>", "write SELECT … FROM … WHERE … instead of pipes"),
    "RelationTimeTravel": ("of", "each step of a transform sees the records of its own interval"),
    "NamedStreamingRelation": ("stream", "name the input itself"),
    "NamedParameter": (":", "queries have no parameters"),
    "PosParameter": ("?", "queries have no parameters"),
    "ExpressionWithUnresolvedIdentifier": ("identifier", "write the name itself"),
    "PlanWithUnresolvedIdentifier": ("identifier", "write the name itself"),
    "UnresolvedExecuteImmediate": ("immediate", "write the statement itself"),
    "CompoundBody": ("begin", "a query is one SELECT"),
    "SetCommand": ("set", "settings are fixed: a query is one SELECT"),
}
"""Words of the query that lead to a refused node, and what to do about it, by the last part of its class."""

PHRASES: Final = {
    ("tablesample", "("): "filter by a hash of a key, e.g. xxhash64(key) % 10 = 0",
    ("identifier", "("): "write the name itself",
    ("with", "("): "inputs have no options",
}
"""Words that the parser turns into something harmless, or does not show: refused by the text."""
