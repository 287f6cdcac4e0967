/** Reads the part of protobuf that OTLP uses. */
export interface Field {
  readonly name: string;
  /** Messages are read by their own fields, and lists are always lists. */
  readonly type: 'text' | 'hex' | 'int' | 'double' | 'fixed64' | 'fixed32' | 'bool' | Message;
  readonly isList?: true;
}

/** The fields of a message, by their numbers. */
export type Message = () => Readonly<Record<number, Field>>;

const VARINT = 0;
const EIGHT_BYTES = 1;
const BYTES = 2;
const FOUR_BYTES = 5;

export const readMessage = (bytes: Buffer, message: Message): Record<string, unknown> => {
  const fields = message();
  const found: Record<string, unknown> = {};
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes.readUInt8(at);
      at += 1;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  const take = (count: number): Buffer => {
    at += count;
    return bytes.subarray(at - count, at);
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    const raw = rawOf(tag & 7, { varint, take });
    const field = fields[tag >> 3];
    if (field === undefined) continue;
    const value = valueOf(raw, field.type);
    if (field.isList === true) ((found[field.name] ??= []) as unknown[]).push(value);
    else found[field.name] = value;
  }
  return found;
};

const rawOf = (
  wire: number,
  { varint, take }: { readonly varint: () => bigint; readonly take: (count: number) => Buffer },
): bigint | Buffer => {
  switch (wire) {
    case VARINT:
      return varint();
    case EIGHT_BYTES:
      return take(8);
    case BYTES:
      return take(Number(varint()));
    case FOUR_BYTES:
      return take(4);
    default:
      throw new Error(`unknown wire type ${wire}`);
  }
};

const valueOf = (raw: bigint | Buffer, type: Field['type']): unknown => {
  if (typeof raw === 'bigint') return type === 'bool' ? raw === 1n : Number(BigInt.asIntN(64, raw));
  if (typeof type === 'function') return readMessage(raw, type);
  if (type === 'text') return raw.toString('utf8');
  if (type === 'hex') return raw.toString('hex');
  if (type === 'double') return raw.readDoubleLE();
  return type === 'fixed32' ? raw.readUInt32LE() : Number(raw.readBigUInt64LE());
};
