package salesforcetest

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// cursors are the results of which further pages can be read.
type cursors struct {
	pageSize int
	made     int
	open     []*cursor // oldest first
}

// cursor is a result that is not read to its end.
type cursor struct {
	id    string
	rows  []any
	total int
}

// maxPage is the number of records in a page of a query, unless Options.QueryPage says less.
const maxPage = 2000

// maxCursors is the largest number of results that one user has open: a further result closes the oldest.
const maxCursors = 10

// runQuery answers with the first page of a query.
func runQuery(g *org, c *call) (answer, *apiError) {
	q, err := parseQuery(c.query.Get("q"))
	if err != nil {
		return answer{}, err
	}
	plan, err := g.plan(q)
	if err != nil {
		return answer{}, err
	}
	found := plan.run()
	result := queryResultWire{TotalSize: len(found), Done: true, Records: []any{}}
	if q.count {
		return answer{status: http.StatusOK, body: result}, nil
	}
	rows := []any{}
	for _, r := range found {
		rows = append(rows, plan.row(r, c.version()))
	}
	g.cursors.made++
	all := &cursor{id: newID("01g", firstRecord+g.cursors.made), rows: rows, total: len(rows)}
	return answer{status: http.StatusOK, body: g.page(c, all, 0)}, nil
}

// page returns the part of a result that begins at a row, and keeps a result of several pages.
func (g *org) page(c *call, from *cursor, at int) queryResultWire {
	g.cursors.open = slices.DeleteFunc(g.cursors.open, func(other *cursor) bool { return other == from })
	end := min(len(from.rows), at+g.cursors.pageSize)
	page := queryResultWire{TotalSize: from.total, Done: end == len(from.rows), Records: from.rows[at:end]}
	if !page.Done {
		page.NextRecordsURL = fmt.Sprintf("%s/query/%s-%d", c.version(), from.id, end)
	}
	if at > 0 || !page.Done { // a page whose answer was lost can be read again
		g.cursors.open = append(g.cursors.open, from)
		g.cursors.open = g.cursors.open[max(0, len(g.cursors.open)-maxCursors):]
	}
	return page
}

// nextPage answers with a further page.
func nextPage(g *org, c *call) (answer, *apiError) {
	id, start, _ := strings.Cut(c.params["locator"], "-")
	at, err := strconv.Atoi(start)
	open := slices.IndexFunc(g.cursors.open, func(c *cursor) bool { return c.id == id })
	if open < 0 || err != nil || at < 0 || at > len(g.cursors.open[max(open, 0)].rows) {
		return answer{}, failure(http.StatusBadRequest, codeQueryLocator, "invalid query locator")
	}
	return answer{status: http.StatusOK, body: g.page(c, g.cursors.open[open], at)}, nil
}
