/**
 * Whether an id looks random: 16 letters and digits in a row, or a UUID. Some backends number ids per answer, so that
 * they repeat in every conversation.
 */
export const isRandomId = (id: string): boolean =>
  /(?=[a-z]*\d)[a-z\d]{16}|[a-f\d]{8}(?:-[a-f\d]{4}){3}-[a-f\d]{12}/i.test(id.slice(0, 128));
