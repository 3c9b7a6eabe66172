package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout/service"
)

// The functions below read the values of flags. An error describes the values that are allowed.

func parseWhole(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, errors.New("must be a whole number, or 0")
	}
	return n, nil
}

// parseSince parses a time, a date, which begins at midnight UTC, or the duration since then.
func parseSince(text string) (time.Time, error) {
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return time.Now().Add(-d), nil
	}
	if date, err := time.Parse(time.DateOnly, text); err == nil {
		return date, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, errors.New("must be a time such as 2026-12-01 or 2026-12-01T03:00:00+13:00, or a duration such as 2h")
	}
	return t, nil
}

// parseLastDay parses a date, and returns its end in New Zealand. No date is the zero time.
func parseLastDay(text string) (end time.Time, err error) {
	if text == "" {
		return end, nil
	}
	date, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return end, errors.New("must be a date such as 2027-06-30")
	}
	zone, err := service.NewZealand()
	return time.Date(date.Year(), date.Month(), date.Day()+1, 0, 0, 0, 0, zone), err
}

func parseDelay(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > time.Minute {
		return 0, errors.New("must be a duration from 0s to 1m")
	}
	return d, nil
}

func parseLifetime(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, errors.New("must be a duration above zero, such as 168h")
	}
	return d, nil
}

func parseRate(text string) (float64, error) {
	rate, err := strconv.ParseFloat(text, 64)
	if err != nil || rate < 0 || math.IsInf(rate, 0) || math.IsNaN(rate) {
		return 0, errors.New("must be a number of requests a second, or 0")
	}
	return rate, nil
}

// parsePrefixes parses networks. A single address is a network of one address.
func parsePrefixes(text string) ([]netip.Prefix, error) {
	var prefixes []netip.Prefix
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		if addr, err := netip.ParseAddr(part); err == nil {
			prefixes = append(prefixes, netip.PrefixFrom(addr, addr.BitLen()))
			continue
		}
		prefix, err := netip.ParsePrefix(part)
		if err != nil {
			return nil, errors.New("must be addresses or networks such as 10.0.0.0/8, comma-separated")
		}
		prefixes = append(prefixes, prefix.Masked())
	}
	return prefixes, nil
}

// parseFile returns a function that reads the file of a flag. An empty path stands for the zero value.
func parseFile[T any](stdin io.Reader, parse func([]byte) (T, error)) func(path string) (T, error) {
	return func(path string) (value T, err error) {
		if path == "" {
			return value, nil
		}
		data, err := readText(stdin, path)
		if err != nil {
			return value, err
		}
		if value, err = parse(data); err != nil {
			return value, fmt.Errorf("%s is refused: %w", inputName(path), err)
		}
		return value, nil
	}
}
