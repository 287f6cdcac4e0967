import { isLongEvent, readEvent } from '../../answer/read-event.ts';

const FIRST_TYPE = /^\s*\{\s*"type"\s*:\s*"([\w.]+)"/;
const HEAD_BYTES = 128;

/** The type of a message; null if it has none. Most put it first, so not all of a message has to be parsed. */
export const frameType = (data: Buffer): string | null => {
  const first = FIRST_TYPE.exec(data.toString('latin1', 0, HEAD_BYTES))?.[1];
  if (first !== undefined) return first;
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
