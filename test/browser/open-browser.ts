import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { access, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

import { chromium, type Browser } from 'playwright-core';

const ROOT = path.join(import.meta.dirname, '../..');
const run = promisify(execFile);

interface Program {
  readonly executablePath: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Opens a browser, or returns in one line why that is impossible. */
export const openBrowser = async (): Promise<Browser | string> => {
  const reasons: string[] = [];
  for (const find of [unpackedChromium, installedChromium]) {
    try {
      const { executablePath, env } = await find();
      return await chromium.launch({
        executablePath,
        env: { ...process.env, ...env },
        args: ['--no-proxy-server'],
        timeout: 30_000,
      });
    } catch (error) {
      reasons.push(String(error).split('\n')[0] ?? '');
    }
  }
  return reasons.join('; ');
};

/**
 * The package's browser, unpacked once next to the packages. Later processes find it there; concurrent ones
 * unpack in vain.
 */
const unpackedChromium = async (): Promise<Program> => {
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    throw new Error(`@sparticuz/chromium has none for ${process.platform} on ${process.arch}`);
  }
  const cache = path.join(ROOT, 'node_modules/.cache/chromium');
  const { version } = await packageOf('@sparticuz/chromium');
  const home = path.join(cache, version);
  if (!existsSync(home)) {
    await mkdir(cache, { recursive: true });
    const unpacking = await mkdtemp(path.join(cache, 'unpacking-'));
    try {
      // If it assumes a cloud, it also unpacks libraries that a bare machine lacks.
      const env = { ...process.env, TMPDIR: unpacking, AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs22.x' };
      await run(process.execPath, [path.join(import.meta.dirname, 'unpack-chromium.ts')], { env });
      await rename(unpacking, home).catch(() => access(home));
    } finally {
      await rm(unpacking, { recursive: true, force: true });
    }
  }
  return {
    executablePath: path.join(home, 'chromium'),
    env: { LD_LIBRARY_PATH: path.join(home, 'al2023/lib'), FONTCONFIG_FILE: await fontsOf(home) },
  };
};

/** The package's own list of fonts names folders of a cloud. Without any font this browser crashes at a password field. */
const fontsOf = async (home: string): Promise<string> => {
  const file = path.join(home, 'fonts.conf');
  const folders = [path.join(home, 'fonts/fonts'), '/usr/share/fonts'];
  const text = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
${folders.map((folder) => `<dir>${folder}</dir>`).join('\n')}
<alias><family>monospace</family><prefer><family>DejaVu Sans Mono</family></prefer></alias>
<cachedir>${path.join(home, 'fonts-cache')}</cachedir>
</fontconfig>
`;
  await writeFile(file, text);
  return file;
};

const packageOf = async (name: string): Promise<{ readonly version: string }> => {
  const file = path.join(ROOT, 'node_modules', name, 'package.json');
  const { default: found } = (await import(file, { with: { type: 'json' } })) as {
    default: { version: string };
  };
  return found;
};

/** The installed browser. */
const installedChromium = async (): Promise<Program> => {
  const folders = (process.env['PATH'] ?? '').split(path.delimiter);
  const found = ['chromium', 'chromium-browser', 'google-chrome']
    .flatMap((name) => folders.map((folder) => path.join(folder, name)))
    .find((file) => existsSync(file));
  if (found === undefined) throw new Error('no chromium is installed');
  return { executablePath: found, env: {} };
};
