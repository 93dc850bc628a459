/** Loaded before a program of ours: exports its spans as the OTEL_… variables say, as an operator would. */
const { NodeSDK } = require('@opentelemetry/sdk-node');

new NodeSDK({ metricReaders: [], logRecordProcessors: [] }).start();
