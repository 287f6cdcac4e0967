import { readFile } from 'node:fs/promises';

/** The documentation in this package. */
export interface DocPages {
  /** The text of a page such as `clients/codex.md`; null if there is none. */
  read(page: string): Promise<string | null>;
}

/** Only files and folders in `docs`. */
const PAGE = /^(?:[a-z0-9-]+\/)?[A-Za-z0-9-]+\.md$/;

export const createDocPages = (root = new URL('../../../docs/', import.meta.url)): DocPages => ({
  async read(page) {
    if (!PAGE.test(page)) return null;
    return readFile(new URL(page, root), 'utf8').catch(() => null);
  },
});
