/** Whether a browser opens a page. Browsers accept `text/html`; API clients ask for JSON or for anything. */
export const acceptsHtml = (accept: string | null): boolean =>
  (accept ?? '')
    .split(',')
    .some((range) => /^\s*text\/html\s*(?:;|$)/i.test(range) && !/;\s*q=0(?:\.0*)?\s*(?:;|$)/i.test(range));
