import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

import { readMessage, type Message } from './protobuf.ts';

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Null: it has none. */
  readonly parentId: string | null;
  readonly traceState: string;
  readonly name: string;
  readonly kind: 'internal' | 'server' | 'client';
  readonly isError: boolean;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly events: readonly string[];
  readonly startNs: number;
  readonly endNs: number;
}

export interface ReceivedMetric {
  readonly name: string;
  readonly unit: string;
  readonly kind: 'sum' | 'histogram';
  readonly points: readonly {
    readonly attributes: Readonly<Record<string, unknown>>;
    readonly sum: number;
  }[];
}

export interface OtlpReceiver {
  readonly url: string;
  /** Of all exports so far. */
  readonly spans: readonly ReceivedSpan[];
  /** By name, as of its newest export. */
  readonly metrics: readonly ReceivedMetric[];
  readonly resource: Readonly<Record<string, unknown>>;
  readonly headers: readonly Readonly<Record<string, unknown>>[];
  /** Everything that was received. */
  readonly bytes: () => Buffer;
  close(): Promise<void>;
}

/** An OTLP/HTTP receiver, as a collector has one. */
export const startOtlpReceiver = async (): Promise<OtlpReceiver> => {
  const spans: ReceivedSpan[] = [];
  const metrics = new Map<string, ReceivedMetric>();
  let resource: Record<string, unknown> = {};
  const headers: Record<string, unknown>[] = [];
  const bodies: Buffer[] = [];
  const receive = async (incoming: IncomingMessage): Promise<void> => {
    const body = await buffer(incoming);
    bodies.push(body);
    headers.push({ path: incoming.url, ...incoming.headers });
    if (incoming.url === '/v1/traces') {
      const { resources = [] } = readMessage(body, TRACES) as { resources?: ReadResource[] };
      for (const one of resources) {
        resource = attributesOf(one.resource?.attributes);
        for (const { spans: read = [] } of one.scopes ?? []) spans.push(...read.map(spanOf));
      }
    } else {
      const { resources = [] } = readMessage(body, METRICS) as { resources?: ReadResource[] };
      for (const { scopes = [] } of resources) {
        for (const { metrics: read = [] } of scopes) {
          for (const one of read) metrics.set(one.name, metricOf(one));
        }
      }
    }
  };
  const server = createServer((incoming, outgoing) => {
    void receive(incoming).then(() =>
      outgoing.writeHead(200, { 'content-type': 'application/x-protobuf' }).end(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    headers,
    get metrics() {
      return [...metrics.values()];
    },
    get resource() {
      return resource;
    },
    bytes: () => Buffer.concat(bodies),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};

interface ReadValue {
  readonly text?: string;
  readonly bool?: boolean;
  readonly int?: number;
  readonly double?: number;
}
type ReadAttributes = readonly { readonly key: string; readonly value?: ReadValue }[] | undefined;
interface ReadSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentId?: string;
  readonly traceState?: string;
  readonly name: string;
  readonly kind: number;
  readonly startNs: number;
  readonly endNs: number;
  readonly attributes?: ReadAttributes;
  readonly events?: readonly { readonly name: string }[];
  readonly status?: { readonly code?: number };
}
interface ReadPoint {
  readonly attributes?: ReadAttributes;
  readonly sum?: number;
  readonly int?: number;
  readonly double?: number;
}
interface ReadMetric {
  readonly name: string;
  readonly unit?: string;
  readonly sum?: { readonly points?: readonly ReadPoint[] };
  readonly histogram?: { readonly points?: readonly ReadPoint[] };
}
interface ReadResource {
  readonly resource?: { readonly attributes?: ReadAttributes };
  readonly scopes?: readonly {
    readonly spans?: readonly ReadSpan[];
    readonly metrics?: readonly ReadMetric[];
  }[];
}

const ERROR = 2;
const KINDS = { 1: 'internal', 2: 'server', 3: 'client' } as const;

const spanOf = (read: ReadSpan): ReceivedSpan => ({
  traceId: read.traceId,
  spanId: read.spanId,
  parentId: read.parentId ?? null,
  traceState: read.traceState ?? '',
  name: read.name,
  kind: KINDS[read.kind as keyof typeof KINDS],
  isError: read.status?.code === ERROR,
  attributes: attributesOf(read.attributes),
  events: (read.events ?? []).map(({ name }) => name),
  startNs: read.startNs,
  endNs: read.endNs,
});

const metricOf = ({ name, unit = '', sum, histogram }: ReadMetric): ReceivedMetric => ({
  name,
  unit,
  kind: sum === undefined ? 'histogram' : 'sum',
  points: ((sum ?? histogram)?.points ?? []).map((point) => ({
    attributes: attributesOf(point.attributes),
    sum: point.sum ?? point.int ?? point.double ?? 0,
  })),
});

const attributesOf = (attributes: ReadAttributes = []): Record<string, unknown> =>
  Object.fromEntries(
    attributes.map(({ key, value = {} }) => [key, value.text ?? value.bool ?? value.int ?? value.double]),
  );

const VALUE: Message = () => ({
  1: { name: 'text', type: 'text' },
  2: { name: 'bool', type: 'bool' },
  3: { name: 'int', type: 'int' },
  4: { name: 'double', type: 'double' },
});
const ATTRIBUTE: Message = () => ({ 1: { name: 'key', type: 'text' }, 2: { name: 'value', type: VALUE } });
const ATTRIBUTES = { name: 'attributes', type: ATTRIBUTE, isList: true } as const;
const RESOURCE: Message = () => ({ 1: ATTRIBUTES });
const EVENT: Message = () => ({ 2: { name: 'name', type: 'text' } });
const STATUS: Message = () => ({ 3: { name: 'code', type: 'int' } });
const SPAN: Message = () => ({
  1: { name: 'traceId', type: 'hex' },
  2: { name: 'spanId', type: 'hex' },
  3: { name: 'traceState', type: 'text' },
  4: { name: 'parentId', type: 'hex' },
  5: { name: 'name', type: 'text' },
  6: { name: 'kind', type: 'int' },
  7: { name: 'startNs', type: 'fixed64' },
  8: { name: 'endNs', type: 'fixed64' },
  9: ATTRIBUTES,
  11: { name: 'events', type: EVENT, isList: true },
  15: { name: 'status', type: STATUS },
});
const SPAN_SCOPE: Message = () => ({ 2: { name: 'spans', type: SPAN, isList: true } });
const NUMBER: Message = () => ({
  4: { name: 'double', type: 'double' },
  6: { name: 'int', type: 'fixed64' },
  7: ATTRIBUTES,
});
const HISTOGRAM_POINT: Message = () => ({ 5: { name: 'sum', type: 'double' }, 9: ATTRIBUTES });
const SUM: Message = () => ({ 1: { name: 'points', type: NUMBER, isList: true } });
const HISTOGRAM: Message = () => ({ 1: { name: 'points', type: HISTOGRAM_POINT, isList: true } });
const METRIC: Message = () => ({
  1: { name: 'name', type: 'text' },
  3: { name: 'unit', type: 'text' },
  7: { name: 'sum', type: SUM },
  9: { name: 'histogram', type: HISTOGRAM },
});
const METRIC_SCOPE: Message = () => ({ 2: { name: 'metrics', type: METRIC, isList: true } });
const request = (scope: Message): Message => {
  const resource: Message = () => ({
    1: { name: 'resource', type: RESOURCE },
    2: { name: 'scopes', type: scope, isList: true },
  });
  return () => ({ 1: { name: 'resources', type: resource, isList: true } });
};
const TRACES = request(SPAN_SCOPE);
const METRICS = request(METRIC_SCOPE);
