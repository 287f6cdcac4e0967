/**
 * The grammar by which Obsidian Copilot up to 3.1.5 reads calls, written for tests from that client's
 * contract only.
 */
export interface ReadCall {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
}

export const readUseTools = (text: string): readonly ReadCall[] => {
  const calls: ReadCall[] = [];
  for (const [, content = ''] of text.matchAll(/<use_tool>([\s\S]*?)(?:<\/use_tool>|$)/g)) {
    const name = /<name>([\s\S]*?)<\/name>/.exec(content)?.[1]?.trim() ?? '';
    if (name === '') continue;
    const rest = content.replace(/<name>[\s\S]*?<\/name>/, '');
    const pairs = [...rest.matchAll(/<([^>]+)>([\s\S]*?)<\/\1>/g)];
    calls.push({
      name,
      args: Object.fromEntries(
        pairs.map(([, key = '', value = '']) => [key.trim(), readValue(value.trim())]),
      ),
    });
  }
  return calls;
};

const readValue = (text: string): unknown => {
  if (!/<[^>]+>/.test(text)) return /^(?:\[[\s\S]*\]|\{[\s\S]*\})$/.test(text) ? readJson(text) : text;
  const items = text.match(/<item>[\s\S]*?<\/item>/g);
  if (items !== null) return items.map((item) => readValue(item.replaceAll(/<\/?item>/g, '').trim()));
  const pairs = [...text.matchAll(/<([^>]+)>([\s\S]*?)<\/\1>/g)];
  if (pairs.length === 0) return text;
  return Object.fromEntries(pairs.map(([, key = '', value = '']) => [key.trim(), readValue(value.trim())]));
};

const readJson = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
};
