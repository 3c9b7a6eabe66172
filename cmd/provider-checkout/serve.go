package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"

	"github.com/provider-checkout/provider-checkout/catalogue"
)

// serve runs the service until ctx ends.
func serve(ctx context.Context, c *call) error {
	if err := c.mayServe(); err != nil {
		return err
	}
	ln, err := listen(ctx, c.addr)
	if err != nil {
		return err
	}
	defer ln.Close()
	db, err := c.openStore(ctx, c.environment)
	if err != nil {
		return err
	}
	defer db.Close()
	base := c.base(ln)
	log := slog.New(slog.NewJSONHandler(c.stderr, nil))
	s, err := newSite(db, c.settings, base, log)
	if err != nil {
		return err
	}
	log.Info("listening", slog.String("addr", ln.Addr().String()), slog.String("base_url", base),
		slog.String("environment", string(c.environment)))
	return s.serve(ctx, ln)
}

// mayServe checks what the flags say together, and says everything that forbids it.
func (c *call) mayServe() error {
	if c.baseURL != "" {
		if err := checkBaseURL(c.baseURL); err != nil {
			return err
		}
	}
	if c.environment != catalogue.Production {
		return nil
	}
	var reasons []string
	if c.processor == "fake" {
		reasons = append(reasons, "the fake processor moves no money (production is an embedder's own program)")
	}
	if !strings.HasPrefix(c.baseURL, "https://") {
		reasons = append(reasons, "--base-url is not https")
	}
	if secrets, err := c.secrets(); err != nil {
		reasons = append(reasons, err.Error())
	} else if secrets == nil {
		reasons = append(reasons, "the operator's secret is missing ("+secretVariable+" or "+secretFileVariable+")")
	}
	if c.allowPrivate {
		reasons = append(reasons, "--allow-private-destinations is for the sandbox")
	}
	if reasons == nil {
		return nil
	}
	return errors.New("production is refused: " + strings.Join(reasons, "; "))
}

func checkBaseURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || u.User != nil ||
		strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return usageError(fmt.Sprintf("--base-url %q must be a scheme and a host, such as https://pay.example.nz", text))
	}
	return nil
}

// base returns the address under which the server is reached.
func (c *call) base(ln net.Listener) string {
	if c.baseURL != "" {
		return strings.TrimRight(c.baseURL, "/")
	}
	host, port, _ := net.SplitHostPort(c.addr)
	if host == "" {
		host = "localhost"
	}
	if tcp, ok := ln.Addr().(*net.TCPAddr); ok && port == "0" {
		port = fmt.Sprint(tcp.Port)
	}
	return "http://" + net.JoinHostPort(host, port)
}

func listen(ctx context.Context, addr string) (net.Listener, error) {
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return nil, usageError(fmt.Sprintf("--addr %q must be HOST:PORT", addr))
	}
	return new(net.ListenConfig).Listen(ctx, "tcp", addr)
}
