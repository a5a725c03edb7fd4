"""The same jobs on a Spark cluster, with the same results. Only this folder imports pyspark."""
