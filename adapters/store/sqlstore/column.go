// Package sqlstore is the common part of the two SQL stores. [Store] has each operation of package ports once, over a small
// [Engine]: an operation locks and reads what it is about in one [Batch], decides, and commits another one. A [Dialect] has the
// words in which the databases differ. How a batch is run, committed and attempted again is the engine's own.
//
// The columns of each table ([Checkout], [Agreement], [JobRecord], [Moment] and others) say how a value is written and read. A
// statement takes its names, its arguments and its destinations from them, in one order. The types of this package,
// such as [Time], wrap a value of the domain that a column holds in another form. They are destinations, as
// [database/sql.Scanner], for every driver.
package sqlstore

import (
	"database/sql"
	"slices"
	"strings"
)

// Column is one column of a table whose rows are values of T.
type Column[T any] struct {
	Name string
	// Field returns a pointer to where the column's value is in a T: a *string, *int64, *int, *bool or *[]byte, or a type
	// of this package.
	Field func(*T) any
}

// Columns is several columns, in the order of the statements.
type Columns[T any] []Column[T]

// stored is implemented by the types of this package.
type stored interface {
	sql.Scanner
	value() any // as the driver takes it
}

// named returns the columns with these names.
func (c Columns[T]) named(names ...string) (found Columns[T]) {
	for _, column := range c {
		if slices.Contains(names, column.Name) {
			found = append(found, column)
		}
	}
	return found
}

// of returns the columns of a value that is part of another.
func of[T, Part any](columns Columns[Part], part func(*T) *Part) Columns[T] {
	all := make(Columns[T], len(columns))
	for i, c := range columns {
		all[i] = Column[T]{Name: c.Name, Field: func(v *T) any { return c.Field(part(v)) }}
	}
	return all
}

// Names returns the names, as a statement lists them.
func (c Columns[T]) Names() string { return strings.Join(c.names(), ", ") }

func (c Columns[T]) names() []string {
	names := make([]string, len(c))
	for i, column := range c {
		names[i] = column.Name
	}
	return names
}

// Marks returns a parameter for each column: "?, ?, ?".
func (c Columns[T]) Marks() string { return marks(len(c)) }

// marks returns n parameters.
func marks(n int) string { return strings.Repeat(`, ?`, n)[2:] }

// Values returns the given values, followed by the values of v's columns.
func (c Columns[T]) Values(v *T, given ...any) []any {
	values := append(make([]any, 0, len(given)+len(c)), given...)
	for _, column := range c {
		values = append(values, value(column.Field(v)))
	}
	return values
}

// value returns the database value of a field, in a type that every driver supports without reflection.
func value(field any) any {
	switch field := field.(type) {
	case *string:
		return *field
	case *int64:
		return *field
	case *int:
		return *field
	case *bool:
		return *field
	case *[]byte:
		return *field
	}
	return field.(stored).value()
}

// Destinations returns the pointers into v that the columns are scanned into.
func (c Columns[T]) Destinations(v *T) []any {
	into := make([]any, len(c))
	for i, column := range c {
		into[i] = column.Field(v)
	}
	return into
}
