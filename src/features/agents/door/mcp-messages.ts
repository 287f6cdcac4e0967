import { isJsonObject, type Json, type JsonObject } from '../../../kit/json/json.ts';

/** The messages of MCP: JSON-RPC 2.0, in which ids are never null. */

export type McpId = string | number;

export interface McpRequest {
  readonly kind: 'request';
  readonly id: McpId;
  readonly method: string;
  readonly params: JsonObject;
}

export interface McpNotification {
  readonly kind: 'notification';
  readonly method: string;
  readonly params: JsonObject;
}

/** The client's answer to a request of this server. */
export interface McpAnswer {
  readonly kind: 'answer';
  readonly id: McpId;
  /** Null: an error. */
  readonly result: JsonObject | null;
}

interface InvalidMessage {
  readonly kind: 'invalid';
  /** Null: it has none that could be read. */
  readonly id: McpId | null;
  readonly problem: string;
}

export type McpMessage = McpRequest | McpNotification | McpAnswer | InvalidMessage;

export const MCP_ERRORS = {
  parse: -32700,
  invalidRequest: -32600,
  unknownMethod: -32601,
  invalidParams: -32602,
  /** Of this server: everything else. */
  refused: -32000,
  /** The code that MCP's SDKs use. */
  unknownSession: -32001,
} as const;

/** An error of the protocol. If a tool fails, that is its result, and not such an error. */
export class McpProtocolError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.name = 'McpProtocolError';
    this.code = code;
  }
}

export const resultMessage = (id: McpId, result: JsonObject): JsonObject => ({ jsonrpc: '2.0', id, result });

export const errorMessage = (id: McpId | null, code: number, message: string): JsonObject => ({
  jsonrpc: '2.0',
  id,
  error: { code, message },
});

export const readMessage = (value: unknown): McpMessage => {
  if (!isJsonObject(value)) return { kind: 'invalid', id: null, problem: 'a message is an object' };
  const { jsonrpc, id, method, params = {} } = value;
  const readId = isMcpId(id) ? id : null;
  const invalid = (problem: string): InvalidMessage => ({ kind: 'invalid', id: readId, problem });
  if (jsonrpc !== '2.0') return invalid('"jsonrpc" has to be "2.0"');
  if (id !== undefined && readId === null) return invalid('"id" has to be a string or a whole number');
  if (method === undefined) return readId === null ? invalid('"method" is missing') : answer(readId, value);
  if (typeof method !== 'string') return invalid('"method" has to be a string');
  if (!isJsonObject(params)) return invalid('"params" has to be an object');
  return readId === null
    ? { kind: 'notification', method, params }
    : { kind: 'request', id: readId, method, params };
};

export const isMcpId = (id: Json | undefined): id is McpId =>
  typeof id === 'string' ? id.length <= MAX_ID_CHARS : Number.isSafeInteger(id);

/** Ids are kept while their requests run. */
const MAX_ID_CHARS = 1_000;

const answer = (id: McpId, { result, error }: JsonObject): McpMessage => {
  if (isJsonObject(result)) return { kind: 'answer', id, result };
  if (isJsonObject(error)) return { kind: 'answer', id, result: null };
  return { kind: 'invalid', id, problem: 'a message has "method", "result" or "error"' };
};

/** The newest first. The first one is offered to clients that ask for an unknown one. */
export const MCP_VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05', '2024-10-07'] as const;

export type McpVersion = (typeof MCP_VERSIONS)[number];

/** What a request without a session and without a header for it has, by the protocol. */
export const UNNAMED_VERSION: McpVersion = '2025-03-26';

export const isMcpVersion = (version: unknown): version is McpVersion =>
  (MCP_VERSIONS as readonly unknown[]).includes(version);

/** 2025-06-18 removed batches. */
export const takesBatches = (version: McpVersion): boolean => version < '2025-06-18';
