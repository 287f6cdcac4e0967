import { isJsonObject, parseJsonObject, type JsonObject } from '../../../../kit/json/json.ts';
import { readModelBody, writeModelBody } from '../../request/model-body.ts';
import { firstType, isLongEvent, readEvent } from '../../answer/read-event.ts';

/** A message in parts: joining them would copy a whole conversation. */
export interface SocketMessage {
  readonly parts: readonly Uint8Array[];
  readonly bytes: number;
}

const START = Buffer.from('{"type":"response.create",');
const METADATA = '"client_metadata":';
/** codex writes its metadata last, so only the end of a body has to be parsed. */
const MAX_TAIL_BYTES = 64 * 1024;

/** The body of a POST as a message, with these entries added to its `client_metadata`. */
export const buildFrame = async (
  body: Uint8Array,
  metadata: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<SocketMessage> => {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const [head, tail] = withMetadata(bytes, metadata) ?? [await rewritten(bytes, metadata, signal)];
  // Without the brace that opens it.
  const parts = [START, head.subarray(1), ...(tail === undefined ? [] : [tail])];
  return { parts, bytes: parts.reduce((sum, part) => sum + part.length, 0) };
};

/** The start and the new end of a body; null if its metadata is not near its end. */
const withMetadata = (body: Buffer, metadata: Readonly<Record<string, string>>): [Buffer, Buffer] | null => {
  const at = body.lastIndexOf(METADATA);
  if (at === -1) {
    const end = body.lastIndexOf('}');
    return [body.subarray(0, end), Buffer.from(`,"client_metadata":${JSON.stringify(metadata)}}`)];
  }
  if (body.length - at > MAX_TAIL_BYTES) return null;
  // This is an object only if the name is one of the body itself: in anything nested more braces are closed.
  const tail = parseJsonObject(`{${body.toString('utf8', at)}`);
  if (tail === null) return null;
  return [body.subarray(0, at), Buffer.from(JSON.stringify(merged(tail, metadata)).slice(1))];
};

const rewritten = async (
  body: Uint8Array,
  metadata: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Buffer> => {
  const read = await readModelBody(body, signal);
  if (read === null) throw new SyntaxError('a model request is not a JSON object');
  const written = await writeModelBody(merged(read, metadata), signal);
  return Buffer.from(written.buffer, written.byteOffset, written.byteLength);
};

const merged = (body: JsonObject, metadata: Readonly<Record<string, string>>): JsonObject => {
  const own = body['client_metadata'];
  return { ...body, client_metadata: { ...(isJsonObject(own) ? own : {}), ...metadata } };
};

const HEAD_BYTES = 128;

/** The type of a message; null if it has none. */
export const frameType = (data: Buffer): string | null => {
  const first = firstType(data.toString('latin1', 0, HEAD_BYTES));
  if (first !== null) return first;
  const text = data.toString('utf8');
  const event = isLongEvent(text) ? null : readEvent(text);
  const type = event === null || typeof event === 'string' ? null : event['type'];
  return typeof type === 'string' ? type : null;
};

/** Messages that a POST's answer does not have; they do not leave the relay. */
const INTERNAL = /^(?:codex\.\w.*|response\.metadata|responsesapi\.websocket_timing)$/;
export const isInternal = (type: string | null): boolean => type !== null && INTERNAL.test(type);

const LF = 0x0a;
const CR = 0x0d;
const END = Buffer.from('\n\n');

/** A message as a server-sent event. */
export const toSse = (type: string | null, data: Buffer): Buffer => {
  const start = type === null ? 'data: ' : `event: ${type}\ndata: `;
  // A line break within JSON is only white space, but would end the line of an event.
  const line = data.includes(LF) || data.includes(CR) ? Buffer.from(data.map(spaceForBreak)) : data;
  return Buffer.concat([Buffer.from(start), line, END]);
};

const spaceForBreak = (byte: number): number => (byte === LF || byte === CR ? 0x20 : byte);
