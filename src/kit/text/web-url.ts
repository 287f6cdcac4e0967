/** Whether a text is an http or https URL without leading text or characters that a parser would drop. */
export const isPlainWebUrl = (text: string): boolean =>
  // eslint-disable-next-line no-control-regex -- exactly those
  /^https?:\/\/[^/\\]/i.test(text) && !/[\u0000-\u001F\u007F]/.test(text) && URL.canParse(text);
