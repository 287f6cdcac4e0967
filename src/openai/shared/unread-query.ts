/** The names of the parameters in a query that its route does not read. */
export const unreadQuery = (query: URLSearchParams, read: readonly string[]): readonly string[] => [
  ...new Set([...query.keys()].filter((name) => !read.includes(name.replace(/\[.*$/s, '')))),
];
