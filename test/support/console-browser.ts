import axe from 'axe-core';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll } from 'vitest';

import { openBrowser } from '../browser/open-browser.ts';

/** A page of the console in a real browser, with everything that went wrong in it. */
export interface ConsolePage {
  readonly page: Page;
  /** Errors of scripts, of the console of the browser, and violations of the content security policy. */
  readonly problems: string[];
  /** Opens another page of the console by its link. */
  goTo(title: string): Promise<void>;
}

export interface ConsoleBrowser {
  /** For `describe.skipIf`: no browser runs here. */
  readonly isMissing: boolean;
  /** For `describe`: says why tests are skipped. */
  readonly needs: { readonly meta: { readonly needs: string } };
  /** Opens an address without signing in. */
  open(url: string, options?: BrowserContextOptions): Promise<ConsolePage>;
  /** Signs in with the key, and opens a page such as `/settings`. */
  signIn(
    server: { readonly url: string; readonly key: string },
    path?: string,
    options?: BrowserContextOptions,
  ): Promise<ConsolePage>;
}

/** Opens one browser for a test file: `const browser = await openConsoleBrowser()`. It is closed after the file. */
export const openConsoleBrowser = async (): Promise<ConsoleBrowser> => {
  const opened = await openBrowser();
  if (typeof opened === 'string' && process.env['CI'] === 'true')
    throw new Error(`no browser runs here: ${opened}`);
  const browser = typeof opened === 'string' ? null : opened;
  const why = typeof opened === 'string' ? opened : '';
  afterAll(async () => {
    await browser?.close();
  });
  return {
    isMissing: browser === null,
    needs: { meta: { needs: `a browser, and none runs here: ${why}` } },
    open: (url, options) => openPage(browser, url, options),
    async signIn({ url, key }, path = '', options) {
      const opening = await openPage(browser, `${url}/console${path}`, options);
      const { page } = opening;
      await page.getByLabel('API key').fill(key);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.locator('main#content').waitFor();
      await settled(page);
      return opening;
    },
  };
};

const openPage = async (
  browser: Browser | null,
  url: string,
  options: BrowserContextOptions = {},
): Promise<ConsolePage> => {
  if (browser === null) throw new Error('there is no browser');
  // Contexts are like separate users: cookies of one test do not reach another.
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    // Without a language in the environment, this browser has one that is invalid.
    locale: 'en-US',
    ...options,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const problems: string[] = [];
  page.on('pageerror', (error) => problems.push(`error: ${error.message}`));
  // Violations of the content security policy are reported here, too.
  page.on('console', (line) => {
    if (line.type() === 'error' || line.type() === 'warning') problems.push(`${line.type()}: ${line.text()}`);
  });
  await page.goto(url);
  return {
    page,
    problems,
    async goTo(title) {
      await page.getByRole('link', { name: title, exact: true }).click();
      await page.getByRole('heading', { level: 1, name: title }).waitFor();
      await settled(page);
    },
  };
};

/** Waits until nothing on the page says that it is loading. */
export const settled = async (page: Page): Promise<void> => {
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.locator('.spinner').first().waitFor({ state: 'detached' });
};

interface AxeResult {
  readonly violations: readonly {
    readonly id: string;
    readonly impact: string | null;
    readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary?: string }[];
  }[];
}

/** What axe-core finds on the page as it is now: serious and critical problems. */
const accessibilityProblems = async (page: Page): Promise<readonly string[]> => {
  // Evaluated by the browser itself, which the content security policy does not concern.
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(async () => {
    const { axe: loaded } = globalThis as unknown as { axe: { run(): Promise<unknown> } };
    return (await loaded.run()) as AxeResult;
  });
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary = '' }) => `${id}: ${target.join(' ')}: ${failureSummary}`),
    );
};

const PHONE = { width: 360, height: 740 };

/** Audits a page in light and dark, on a large screen and on a phone. Returns what is wrong: expect an empty list. */
export const auditPage = async ({ page, problems }: ConsolePage): Promise<readonly string[]> => {
  const found: string[] = [];
  const large = page.viewportSize() ?? PHONE;
  for (const colorScheme of ['light', 'dark'] as const) {
    for (const size of [large, PHONE]) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize(size);
      const name = `${colorScheme}, ${size.width} px`;
      found.push(...(await accessibilityProblems(page)).map((one) => `${name}: ${one}`));
      const width = await page.evaluate<number>('document.documentElement.scrollWidth');
      if (width > size.width) found.push(`${name}: the page is ${width} px wide`);
    }
  }
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setViewportSize(large);
  return [...found, ...problems];
};

interface TabStop {
  /** The label or text of the element. */
  readonly name: string;
  /** Whether the element shows that it has the focus. */
  readonly isMarked: boolean;
}

/** Runs in the page: what has the focus. Null: nothing on the page. */
const FOCUSED = `(() => {
  const element = document.activeElement;
  if (element === null || element === document.body) return null;
  const label = element.getAttribute('aria-label') ?? element.labels?.[0]?.innerText;
  const { outlineStyle, outlineWidth } = getComputedStyle(element);
  return {
    name: (label ?? element.innerText).trim().replaceAll(/\\s+/g, ' '),
    isMarked: outlineStyle !== 'none' && outlineWidth !== '0px',
  };
})()`;

/** Presses Tab from the top of the page: the elements in the order in which the keyboard reaches them. */
export const tabStops = async (page: Page, atMost = 60): Promise<readonly TabStop[]> => {
  // The next Tab continues after what had the focus last, even if that is gone.
  await page.evaluate(
    `document.body.tabIndex = -1; document.body.focus(); document.body.removeAttribute('tabindex')`,
  );
  const stops: TabStop[] = [];
  for (let count = 0; count < atMost; count += 1) {
    await page.keyboard.press('Tab');
    const stop = await page.evaluate<TabStop | null>(FOCUSED);
    if (stop === null) return stops;
    stops.push(stop);
  }
  return stops;
};
