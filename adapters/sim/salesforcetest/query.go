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

// maxCursors is the largest number of results that one user has open: a further result closes the oldest.
const maxCursors = 10

// limits of Sforce-Query-Options: batchSize=….
const (
	minPage = 200
	maxPage = 2000
)

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
	end := min(len(from.rows), at+g.cursors.size(c.header))
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

// size returns how many rows a page has.
func (c *cursors) size(header http.Header) int {
	for pair := range strings.SplitSeq(header.Get("Sforce-Query-Options"), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
		if n, err := strconv.Atoi(value); err == nil && strings.EqualFold(name, "batchSize") {
			return min(max(n, minPage), maxPage, c.pageSize)
		}
	}
	return c.pageSize
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
