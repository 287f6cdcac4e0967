import type { Page } from '../pages.ts';

interface Found {
  readonly page: Page;
  readonly rest: readonly string[];
}

/** An invalid escape is shown as it is. */
const decoded = (part: string): string => {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
};

/** The page of an address, and what follows its path. Home has no addresses below it. */
export const findPage = (pages: readonly Page[], path: string): Found | null => {
  for (const page of pages) {
    if (page.path === path) return { page, rest: [] };
    if (page.path !== '/' && path.startsWith(`${page.path}/`)) {
      const rest = path.slice(page.path.length + 1).split('/');
      return { page, rest: rest.map(decoded) };
    }
  }
  return null;
};
