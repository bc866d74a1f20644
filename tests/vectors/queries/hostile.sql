-- no such relation | text
select * from text.`/etc/passwd`;
-- no such relation | csv
select * from csv.`/etc/passwd`;
-- no such relation | parquet
with c as (select * from parquet.`/etc`) select * from c;
-- no such relation | binaryFile
select a from input where a in (select length from binaryFile.`/etc/passwd`);
-- a name with a comma does not stand for two
with `text, /etc/passwd` as (select 1) select * from text.`/etc/passwd`;
-- another database
select * from default.input;
-- not an input
select * from secrets;
-- not an input in a subquery
select (select max(a) from secrets) from input;
-- not an input in exists
select a from input where exists (select 1 from secrets);
-- not an input in lateral
select a from input, lateral (select * from secrets);
-- reflection
select reflect('java.lang.System', 'getenv', 'HOME') from input;
-- reflection by its other name
select java_method('java.lang.System', 'exit', 1) from input;
-- reflection that hides errors
select try_reflect('java.lang.System', 'exit', 1) from input;
-- reflection by its full name
select builtin.reflect('java.lang.System', 'exit', 1) from input;
-- reflection by its fullest name
select system.builtin.reflect('java.lang.System', 'exit', 1) from input;
-- reflection in quotes
select `reflect`('java.lang.System', 'exit', 1) from input;
-- reflection in capitals
select REFLECT('java.lang.System', 'exit', 1) from input;
-- reflection in a filter
select a from input where reflect('java.lang.System', 'exit', 1) = '';
-- reflection in having
select a from input group by a having reflect('x', 'y') = '';
-- reflection in group by
select count(*) from input group by reflect('x', 'y');
-- reflection in order by
select a from input order by reflect('x', 'y');
-- reflection in limit
select a from input limit length(reflect('x', 'y'));
-- reflection in offset
select a from input limit 1 offset length(reflect('x', 'y'));
-- reflection in join
select * from input join other on reflect('x', 'y') = '';
-- reflection in a lambda
select transform(array(1), x -> reflect('x', 'y')) from input;
-- reflection in case
select case when a > 1 then reflect('x', 'y') end from input;
-- reflection in a window
select sum(a) over (partition by reflect('x', 'y')) from input;
-- reflection in an order of a window
select sum(a) over (order by reflect('x', 'y')) from input;
-- reflection in a named window
select sum(a) over w from input window w as (partition by reflect('x', 'y'));
-- reflection in a bound of a window
select sum(a) over (order by a rows between length(reflect('x', 'y')) preceding and current row) from input;
-- reflection in values
select * from values (reflect('x', 'y')) as t(a);
-- reflection in values of a join
select * from input join (values (1, reflect('x', 'y'))) t(a, b) on true;
-- reflection in lateral view
select * from input lateral view explode(array(reflect('x', 'y'))) t as y;
-- reflection as a generator
select * from input lateral view reflect('x', 'y') t as y;
-- reflection as a table
select * from reflect('x', 'y');
-- reflection in an argument of a table
select * from range(length(reflect('x', 'y')));
-- reflection in explode of a table
select * from explode(array(reflect('x', 'y')));
-- reflection in pivot
select * from input pivot (sum(reflect('x', 'y')) for a in (1));
-- reflection in grouping sets
select a from input group by grouping sets ((reflect('x', 'y')));
-- reflection in rollup
select 1 from input group by rollup (reflect('x', 'y'));
-- reflection in filter of an aggregate
select count(*) filter (where reflect('x', 'y') = '') from input;
-- reflection in within group
select percentile_cont(0.5) within group (order by reflect('x', 'y')) from input;
-- reflection in a part of the query
with c as (select reflect('x', 'y') as a from input) select * from c;
-- reflection in a part of a part
with c as (with d as (select reflect('x', 'y') as a) select * from d) select * from c;
-- reflection in a union
select a from input union all select reflect('x', 'y');
-- reflection in a subquery
select (select reflect('x', 'y')) from input;
-- reflection in in
select a in (1, reflect('x', 'y')) from input;
-- reflection in a list query
select a in (select reflect('x', 'y')) from input;
-- reflection in between
select a between 1 and reflect('x', 'y') from input;
-- reflection in like
select s like reflect('x', 'y') from input;
-- reflection in like any
select s like any ('a', reflect('x', 'y')) from input;
-- reflection in a cast
select cast(reflect('x', 'y') as int) from input;
-- reflection in an index
select array(1)[reflect('x', 'y')] from input;
-- reflection in a struct
select struct(reflect('x', 'y')).col1 from input;
-- reflection in extract
select extract(year from reflect('x', 'y')) from input;
-- reflection in qualify
select a from input qualify row_number() over (order by reflect('x', 'y')) = 1;
-- reflection in a named argument
select mask(s, upperChar => reflect('x', 'y')) from input;
-- reflection in distribute by
select a from input distribute by reflect('x', 'y');
-- reflection in stars replaced
select * replace (reflect('x', 'y') as a) from input;
-- reflection in interval
select interval (reflect('x', 'y')) day from input;
-- reflection in a sample
select * from input tablesample (1 rows) repeatable (1);
-- programs
select transform (a) using 'cat /etc/shadow' as (x) from input;
-- programs by map
from input map a using 'id' as x;
-- programs by reduce
from input reduce a using 'id' as x;
-- statement in a text
execute immediate 'select 1';
-- a program of statements
begin select 1; end;
-- settings
set spark.sql.ansi.enabled = false;
-- settings back
reset;
-- set a variable
set var x = 1;
-- declare a variable
declare x = 1;
-- jars
add jar '/tmp/x.jar';
-- files
add file '/etc/passwd';
-- list of files
list files;
-- a view over a file
create temporary view v using csv options (path '/etc/passwd');
-- a table
create table t (a int) using parquet;
-- a table from a query
create table t using parquet as select * from input;
-- a function
create temporary function f as 'java.lang.String';
-- a function in SQL
create temporary function f() returns int return 1;
-- writing a folder
insert overwrite directory '/tmp/x' using csv select * from input;
-- writing a local folder
insert overwrite local directory '/tmp/x' select * from input;
-- writing a relation
insert into input select * from input;
-- deleting
delete from input;
-- updating
update input set a = 1;
-- merging
merge into input using other on input.a = other.a when matched then delete;
-- dropping
drop table input;
-- many inserts
from input insert into t select a insert into u select b;
-- loading
load data local inpath '/etc/passwd' into table t;
-- caching
cache table c as select * from input;
-- uncaching
clear cache;
-- explaining
explain select * from input;
-- describing
describe input;
-- describing a query
describe query select * from input;
-- showing
show tables;
-- showing functions
show functions;
-- using
use default;
-- refreshing
refresh table input;
-- refreshing a path
refresh '/etc';
-- analysing
analyze table input compute statistics;
-- truncating
truncate table input;
-- two statements
select 1; select 2;
-- commands of the system
!ls;
-- calling a procedure
call system.x();
-- a hint
select /*+ broadcast(o) */ * from input i join other o on i.a = o.a;
-- a hint of partitions
select /*+ repartition(3) */ * from input;
-- a sample by percent
select * from input tablesample (10 percent);
-- a sample by rows
select * from input tablesample (5 rows);
-- a sample by buckets
select * from input tablesample (bucket 1 out of 2);
-- a stream
select * from stream(input);
-- a stream by word
select * from stream input;
-- an older version
select * from input version as of 1;
-- an older time
select * from input timestamp as of '2020-01-01';
-- options of a relation
select * from input with (path = '/etc/passwd');
-- an identifier from a text
select * from identifier('input');
-- an identifier from texts
select * from identifier('in' || 'put');
-- a function by identifier
select identifier('reflect')('x', 'y') from input;
-- a column by identifier
select identifier('a') from input;
-- a parameter
select :x from input;
-- a nameless parameter
select ? from input;
-- a variable outside of texts
select ${x} from input;
-- a pipe
from input |> where a > 1;
-- a table function of Python
select * from python_worker_logs();
-- words of SQL
select * from sql_keywords();
-- collations
select * from collations();
-- chance
select rand() from input;
-- chance with a seed
select rand(1) from input;
-- normal chance
select randn(1) from input;
-- chance by its other name
select random() from input;
-- unique identifiers
select uuid() from input;
-- shuffled arrays
select shuffle(array(1, 2)) from input;
-- random strings
select randstr(5, 1) from input;
-- uniform chance
select uniform(1, 2, 3) from input;
-- numbers by partition
select monotonically_increasing_id() from input;
-- partitions
select spark_partition_id() from input;
-- names of files
select input_file_name() from input;
-- blocks of files
select input_file_block_start() from input;
-- the clock
select current_timestamp() from input;
-- the clock without parentheses
select current_timestamp from input;
-- the clock in capitals
select CURRENT_TIMESTAMP from input;
-- the clock in quotes
select `current_timestamp` from input;
-- now
select now() from input;
-- today
select current_date from input;
-- today by function
select current_date() from input;
-- today by its short name
select curdate() from input;
-- the time of the day
select current_time from input;
-- the local clock
select localtimestamp from input;
-- the local clock by function
select localtimestamp() from input;
-- seconds of the clock
select unix_timestamp() from input;
-- seconds of the clock for some rows
select unix_timestamp() filter (where a > 1) from input;
-- the user
select current_user from input;
-- the user by function
select current_user() from input;
-- the user by its short name
select user from input;
-- the user of the session
select session_user from input;
-- the version
select version() from input;
-- the database
select current_database() from input;
-- the catalog
select current_catalog() from input;
-- the zone
select current_timezone() from input;
-- the path
select current_path() from input;
-- a typed now
select timestamp'now' from input;
-- a typed now with spaces
select timestamp ' Now ' from input;
-- a typed now with a zone
select timestamp'now UTC' from input;
-- a typed now in pieces
select timestamp 'no' 'w' from input;
-- a typed now by escapes
select timestamp 'n\u006fw' from input;
-- a typed now in double quotes
select timestamp "now" from input;
-- a typed now that is raw
select timestamp r'now' from input;
-- a typed now behind a comment
select timestamp /* here */ 'now' from input;
-- a typed today
select date'today' from input;
-- a typed tomorrow
select date 'tomorrow' from input;
-- a typed yesterday
select date'YESTERDAY' from input;
-- a typed now without zone
select timestamp_ntz'now' from input;
-- a cast now
select cast('now' as timestamp) from input;
-- a cast now with spaces
select cast(' now ' as timestamp) from input;
-- a cast now in pieces
select cast('no' 'w' as timestamp) from input;
-- a cast now by escapes
select cast('n\157w' as timestamp) from input;
-- a cast that was put together
select cast(concat('no', 'w') as timestamp) from input;
-- a cast by bars
select cast('no' || 'w' as timestamp) from input;
-- a cast of replaced text
select cast(replace('nxw', 'x', 'o') as date) from input;
-- a short cast
select ('to' || 'day') :: date from input;
-- a try cast
select try_cast('to' || 'day' as date) from input;
-- a cast function
select timestamp(concat('no', 'w')) from input;
-- to_timestamp put together
select to_timestamp(concat('no', 'w')) from input;
-- to_date put together
select to_date(reverse('yadot')) from input;
-- an implicit cast
select event_time > 'now' from input;
-- an implicit cast in pieces
select event_time > concat('no', 'w') from input;
-- an implicit cast in a filter
select a from input where event_time < ('to' || 'morrow');
-- the first of a group
select first(b) from input group by a;
-- any of a group
select any_value(b) from input group by a;
-- the last of a group
select last(b) from input group by a;
-- a list of a group
select collect_list(b) from input group by a;
-- an array of a group
select array_agg(b) from input group by a;
-- a text of a group
select listagg(s, ',') from input group by a;
-- the largest by another
select max_by(a, b) from input;
-- the most frequent
select mode(b) from input;
-- approximate percentiles
select percentile_approx(b, 0.5) from input;
-- Avro
select from_avro(s, '{}') from input;
-- Protobuf
select from_protobuf(s, 'x', '/etc/passwd') from input;
-- XML
select from_xml(s, 'a int') from input;
-- XPath
select xpath(s, '/a') from input;
-- sleeping forever in Java
select java_method('java.lang.Thread', 'sleep', 100000L) from input;
-- ciphers
select aes_encrypt(s, s) from input;
-- sketches
select hll_sketch_agg(a) from input;
-- a function of nobody
select frobnicate(a) from input;
-- no SQL
selec a from input;
-- no end
select 'a from input;
-- nothing
;
-- a recursive part
with recursive c(n) as (select 1 union all select n + 1 from c) select * from c;
-- a part of its own name
with input as (select 1 as a), x as (select * from secrets) select * from input, x;
-- the clock named by the codes of its letters
select cast(concat(chr(110), chr(111), chr(119)) as timestamp) from input;
-- the clock named by a number
select cast(cast(unhex(hex(7237495)) as string) as timestamp) from input;
-- the clock named by the codes of its letters, as a day
select date(concat(char(116), char(111), char(100), char(97), char(121))) from input
