import { gatewayError } from '../../canonical/failure/failure.ts';
import type { CodexAccount } from '../../engine/codex-account.ts';
import { readFeedback } from '../../openai/shared/sign-in.ts';
import { ignoredHeader } from '../answer/turn-headers.ts';
import { readHeldBody, type BodyDeps } from '../body/read-json.ts';
import { route, type Route } from '../route.ts';

export interface FeedbackDeps {
  readonly codexAccount: () => Pick<CodexAccount, 'sendFeedback'>;
  /** The operator allows sending feedback to OpenAI. */
  readonly takesFeedback: boolean;
  readonly bodies: BodyDeps;
}

export const feedbackRoute = ({ codexAccount, takesFeedback, bodies }: FeedbackDeps): Route =>
  route('POST /v1/codex/feedback', 'admin', async (http, exchange) => {
    if (!takesFeedback) {
      throw gatewayError('endpoint_not_supported', {
        message:
          'Feedback is disabled. The operator of this server can enable it with PROXY_ENABLE_FEEDBACK=true.',
      });
    }
    const { feedback, ignored } = readFeedback(await readHeldBody(http, exchange, bodies));
    const id = await codexAccount().sendFeedback(feedback);
    return Response.json(
      { id, object: 'codex.feedback', status: 'sent' },
      { headers: ignoredHeader(ignored) },
    );
  });
