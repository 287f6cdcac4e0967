import { z } from 'zod';

import { MAX_ID_CHARS } from '../../apis/bounds.ts';
import { parseBody } from '../../apis/validation.ts';
import { isJsonObject } from '../../kit/json/json.ts';
import type { WorkspaceChanges } from '../../turns/api.ts';

/** git has no longer ones. */
const MAX_NAME_CHARS = 255;

/** A name that git cannot take for an option, a range or an expression. */
const branch = z
  .string()
  .max(MAX_NAME_CHARS)
  .regex(/^(?![-/.@])(?!.*(?:\.\.|@\{|\/\/))[^\s\p{Cc}~^:?*[\\]+$/u, 'expected the name of a branch');

const sha = z.string().regex(/^[0-9a-f]{4,64}$/i, 'expected the hash of a commit');

const schema = z.object({
  workspace: z.string().min(1).max(MAX_ID_CHARS),
  target: z.discriminatedUnion('type', [
    z.object({ type: z.literal('uncommittedChanges') }),
    z.object({ type: z.literal('baseBranch'), branch }),
    z.object({ type: z.literal('commit'), sha }),
  ]),
});

/** The changes in a workspace that a body asks to review; null: it names no workspace. Throws if it is invalid. */
export const changesIn = (body: unknown): WorkspaceChanges | null =>
  isJsonObject(body) && body['workspace'] != null ? parseBody(schema, body) : null;

/** The body with the changes in their place. */
export const withDiff = (body: unknown, { target }: WorkspaceChanges, diff: string): unknown => {
  if (!isJsonObject(body)) return body;
  const { workspace: _, target: __, input, ...rest } = body;
  const said = typeof input === 'string' && input.trim() !== '' ? [input] : [];
  return { ...rest, input: [...said, `${wordsOf(target)}\n\n${diff}`].join('\n\n') };
};

const wordsOf = (target: WorkspaceChanges['target']): string => {
  if (target.type === 'commit') return `Review the changes of the commit ${target.sha}:`;
  return target.type === 'baseBranch'
    ? `Review these changes of a working tree since it left the branch ${target.branch}:`
    : 'Review these uncommitted changes of a working tree (staged, unstaged and untracked files):';
};
