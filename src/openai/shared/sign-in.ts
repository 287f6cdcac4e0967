import { z } from 'zod';

import { unreadFields } from '../../apis/unread-fields.ts';
import { parseBody } from '../../apis/validation.ts';
import { bodyObject } from '../chat/common.ts';

const signInSchema = z.object({ method: z.enum(['device', 'browser']) });

/** Parses the body that starts a sign-in. Throws if it names no method. */
export const readSignIn = (body: unknown) => {
  const object = bodyObject(body);
  const { method } = parseBody(signInSchema, object);
  return { method, ignored: unreadFields(signInSchema, object, '') };
};
