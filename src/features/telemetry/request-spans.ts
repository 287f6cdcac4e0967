import {
  createTraceState,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Context,
  type Span,
  type SpanContext,
  type Tracer,
} from '@opentelemetry/api';
import type { IdGenerator } from '@opentelemetry/sdk-trace';

import type { DistributedTrace, SpanFacts, TraceContext, TraceSpan } from '../../canonical/context/trace.ts';
import type { RequestEnd, StartedRequest } from '../../observe/request-end.ts';
import { attributesOf, type Attributes, type Inference } from './model-requests.ts';

export interface RequestSpansOptions {
  readonly tracer: Tracer;
  readonly ids: PresetIds;
}

/** The attributes that no convention has. */
const OWN = 'codex_proxy.';
const SERVER_ERROR = 500;

/** The span of one request, from its arrival to its end. The spans of its parts are made at the end. */
export class RequestSpan {
  readonly #options: RequestSpansOptions;
  readonly #request: StartedRequest;
  readonly #span: Span;

  constructor(request: StartedRequest, options: RequestSpansOptions) {
    const { method, route, startedAt, backgroundId, traceContext = null } = request;
    this.#options = options;
    this.#request = request;
    const parent =
      traceContext === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, spanContextOf(traceContext));
    // A background response is a part of its request, which has ended.
    const own = backgroundId === null ? { kind: SpanKind.SERVER } : { kind: SpanKind.INTERNAL };
    this.#span = options.tracer.startSpan(
      backgroundId === null ? `${method} ${route}` : 'background response',
      { ...own, startTime: startedAt, attributes: { 'http.request.method': method, 'http.route': route } },
      parent,
    );
  }

  /** What is sent to others while the request runs. */
  get distributed(): DistributedTrace {
    const spanContext = this.#span.spanContext();
    return {
      context: traceContextOf(spanContext, spanContext.spanId),
      identify: () => {
        const id = this.#options.ids.generateSpanId();
        return { id, traceContext: traceContextOf(spanContext, id) };
      },
    };
  }

  end(end: RequestEnd, inferences: ReadonlyMap<TraceSpan, Inference>): void {
    if (!this.#span.isRecording()) return;
    this.#span.setAttributes(requestAttributes(end));
    const error = errorOf(end);
    if (error !== null) this.#fail(this.#span, error);
    const { spans } = end.spans;
    this.#addParts(spans, inferences);
    // The clock of the request has whole milliseconds.
    const endMs = spans.reduce((latest, span) => Math.max(latest, span.endMs), end.durationMs);
    this.#span.end(end.startedAt + endMs);
  }

  #addParts(parts: readonly TraceSpan[], inferences: ReadonlyMap<TraceSpan, Inference>): void {
    const { tracer, ids } = this.#options;
    const { startedAt } = this.#request;
    const made: Context[] = [];
    const own = trace.setSpan(ROOT_CONTEXT, this.#span);
    for (const part of parts) {
      const { name, parent, startMs, endMs, facts, id } = part;
      const inside = (parent === null ? undefined : made[parent]) ?? own;
      made.push(inside);
      if (name === 'first-delta' || name === 'end') {
        this.#span.addEvent(name, ownAttributes(facts), startedAt + startMs);
        continue;
      }
      const inference = inferences.get(part);
      const shape = this.#shapeOf(part, inference);
      const span = ids.preset(id, () =>
        tracer.startSpan(shape.name, { ...shape, startTime: startedAt + startMs }, inside),
      );
      const error = inference?.error ?? facts['error'];
      if (typeof error === 'string') this.#fail(span, error);
      span.end(startedAt + endMs);
      made[made.length - 1] = trace.setSpan(ROOT_CONTEXT, span);
    }
  }

  #shapeOf({ name, facts }: TraceSpan, inference: Inference | undefined): SpanShape {
    if (inference !== undefined) {
      return {
        name: `${inference.operation} ${inference.model ?? ''}`.trim(),
        kind: SpanKind.CLIENT,
        attributes: { ...attributesOf(inference), ...ownAttributes(pick(facts, REQUEST_FACTS)) },
      };
    }
    if (name !== 'tool') return { name, kind: SpanKind.INTERNAL, attributes: ownAttributes(facts) };
    const tool = { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': String(facts['tool']) };
    return {
      name: `execute_tool ${String(facts['tool'])}`,
      kind: SpanKind.INTERNAL,
      attributes: { ...tool, ...ownAttributes(pick(facts, TOOL_FACTS)) },
    };
  }

  #fail(span: Span, error: string): void {
    span.setAttribute('error.type', error);
    span.setStatus({ code: SpanStatusCode.ERROR });
  }
}

interface SpanShape {
  readonly name: string;
  readonly kind: SpanKind;
  readonly attributes: Attributes;
}

/** Facts of a model request for which there is no convention. */
const REQUEST_FACTS = ['transport', 'status', 'headMs', 'retry', 'end', 'isUnfinished'];
const TOOL_FACTS = ['server', 'status', 'exitCode', 'isUnfinished'];

const pick = (facts: SpanFacts, names: readonly string[]): SpanFacts =>
  Object.fromEntries(names.flatMap((name) => (facts[name] === undefined ? [] : [[name, facts[name]]])));

const ownAttributes = (facts: SpanFacts): Record<string, string | number | boolean> =>
  Object.fromEntries(
    Object.entries(facts).flatMap(([name, value]) =>
      value === null || name === 'error' ? [] : [[OWN + snake(name), value]],
    ),
  );

const snake = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

const requestAttributes = (end: RequestEnd): Attributes => ({
  ...(end.status === 0 ? {} : { 'http.response.status_code': end.status }),
  ...ownAttributes({
    requestId: end.requestId,
    responseId: end.backgroundId,
    keyId: end.keyId,
    model: end.model,
    stream: end.stream,
    client: end.client?.name ?? null,
    droppedSpans: end.spans.dropped === 0 ? null : end.spans.dropped,
  }),
});

/** A stream that fails has the status 200: its turn says so. */
const errorOf = ({ status, outcome, failure }: RequestEnd): string | null =>
  outcome === 'failed' || status >= SERVER_ERROR ? (failure?.code ?? String(status)) : null;

/**
 * Random ids, except for a span whose id was sent to others before the span was made. Spans are made at the end of a
 * request, and a model request names its span when it is sent.
 */
export class PresetIds implements IdGenerator {
  readonly #random: IdGenerator;
  #preset: string | null = null;

  constructor(random: IdGenerator) {
    this.#random = random;
  }

  generateTraceId(): string {
    return this.#random.generateTraceId();
  }

  generateSpanId(): string {
    const id = this.#preset ?? this.#random.generateSpanId();
    this.#preset = null;
    return id;
  }

  /** The spans of this call get the id; absent: a random one. */
  preset<Made>(id: string | undefined, make: () => Made): Made {
    this.#preset = id ?? null;
    try {
      return make();
    } finally {
      this.#preset = null;
    }
  }
}

/** The span that a client sent; its headers were checked when they were read. */
const spanContextOf = ({ traceparent, tracestate }: TraceContext): SpanContext => {
  const [, traceId = '', spanId = '', flags = ''] = traceparent.split('-');
  return {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16) & SAMPLED,
    isRemote: true,
    ...(tracestate === null ? {} : { traceState: createTraceState(tracestate) }),
  };
};

const SAMPLED = 1;

/** The headers for requests that belong to a span of this trace. */
const traceContextOf = ({ traceId, traceFlags, traceState }: SpanContext, spanId: string): TraceContext => ({
  traceparent: `00-${traceId}-${spanId}-${(traceFlags & SAMPLED).toString(16).padStart(2, '0')}`,
  tracestate: traceState?.serialize() || null,
});
