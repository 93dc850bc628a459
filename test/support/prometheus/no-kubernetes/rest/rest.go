// Package rest stands in for Kubernetes' client, of which the engine of Prometheus needs a logger's type. The true one would
// more than double what is built.
package rest

import "context"

// WarningHandlerWithContext is never called here.
type WarningHandlerWithContext interface {
	HandleWarningHeaderWithContext(ctx context.Context, code int, agent string, text string)
}

// WarningLogger logs nothing.
type WarningLogger struct{}

// HandleWarningHeaderWithContext does nothing.
func (WarningLogger) HandleWarningHeaderWithContext(context.Context, int, string, string) {}
