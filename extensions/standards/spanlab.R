# Reads a folder that "spanlab export DATA --to csv DIR" has written. Base R only.
#
#   source("spanlab.R")
#   answers <- read_spanlab(".")             # a data frame: one row for each answered item
#   attr(answers, "codebook")                # type, unit and meaning of each column
#   aggregate(correct ~ agent + serial_position, answers, mean)

read_spanlab <- function(folder = ".") {
  read <- function(name) {
    read.csv(file.path(folder, name), colClasses = "character", na.strings = character(), check.names = FALSE, encoding = "UTF-8")
  }
  codebook <- read("codebook.csv")
  answers <- read("responses.csv")
  stopifnot(identical(names(answers), codebook$column))
  answers[] <- Map(function(values, type) {
    values[values == ""] <- NA
    switch(type,
      integer = , number = as.numeric(values),   # integers may be larger than R's own
      boolean = values == "true",
      json = if (all(values %in% c("true", "false", NA))) values == "true" else type.convert(values, as.is = TRUE), # numbers where all are
      values
    )
  }, answers, codebook$type)
  for (name in intersect(c("participant_id", "agent", "paradigm"), names(answers))) {
    answers[[name]] <- factor(answers[[name]], levels = unique(answers[[name]]))
  }
  attr(answers, "codebook") <- codebook
  answers
}
