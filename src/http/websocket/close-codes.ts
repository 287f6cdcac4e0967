/** Codes of close frames: RFC 6455, and the registry of IANA. */
export const CLOSE = {
  normal: 1000,
  goingAway: 1001,
  policyViolation: 1008,
  tooLarge: 1009,
  tryAgainLater: 1013,
} as const;

/** A close frame has room for so many bytes of text. */
const MAX_REASON_BYTES = 123;

/** The text of a close frame. */
export const closeReason = (text: string): string => {
  const bytes = Buffer.from(text);
  return bytes.length <= MAX_REASON_BYTES
    ? text
    : bytes.subarray(0, MAX_REASON_BYTES).toString().replace(/�+$/, '');
};
