/** Frames of a WebSocket, as a server writes and reads them. */

export interface ClientFrame {
  readonly opcode: number;
  readonly isLast: boolean;
  readonly isCompressed: boolean;
  readonly payload: Buffer;
}

const lengthAt = (frame: Buffer, short: number): readonly [length: number, end: number] => {
  if (short === 126) return [frame.readUInt16BE(2), 4];
  return short === 127 ? [Number(frame.readBigUInt64BE(2)), 10] : [short, 2];
};

/** One whole frame of a client. */
export const readClientFrame = (frame: Buffer): ClientFrame => {
  const [first = 0, second = 0] = frame;
  const [length, end] = lengthAt(frame, second & 0x7f);
  const mask = frame.subarray(end, end + 4);
  const masked = frame.subarray(end + 4);
  if ((second & 0x80) === 0 || masked.length !== length) throw new Error('not a frame of a client');
  return {
    opcode: first & 0x0f,
    isLast: (first & 0x80) !== 0,
    isCompressed: (first & 0x40) !== 0,
    payload: Buffer.from(masked.map((byte, index) => byte ^ (mask[index % 4] ?? 0))),
  };
};

export const serverFrame = (
  opcode: number,
  payload: string | Buffer = '',
  { isLast = true, isCompressed = false } = {},
): Buffer => {
  const data = Buffer.from(payload as string);
  const head = Buffer.alloc(data.length < 126 ? 2 : data.length < 65_536 ? 4 : 10);
  head[0] = (isLast ? 0x80 : 0) | (isCompressed ? 0x40 : 0) | opcode;
  head[1] = head.length === 2 ? data.length : head.length === 4 ? 126 : 127;
  if (head.length === 4) head.writeUInt16BE(data.length, 2);
  if (head.length === 10) head.writeBigUInt64BE(BigInt(data.length), 2);
  return Buffer.concat([head, data]);
};
