/** Marks texts that clients keep and send back, so that only texts of this installation are read. */
export interface Signer {
  /** The text in a printable form, with a MAC. */
  sign(text: string): string;
  /** The signed text; null if another program made the signature, with another key, or if it was changed. */
  open(signature: string): string | null;
}
