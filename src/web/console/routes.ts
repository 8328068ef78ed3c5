import { accountRoutes } from './account.ts';
import { erasureRoutes } from './erasure.ts';
import { groupRoutes } from './groups.ts';
import { holdRoutes } from './holds.ts';
import { homeRoutes } from './home.ts';
import { learnerExportRoutes } from './learner-export.ts';
import { keyLinkRoutes } from './key-links.ts';
import { keyRoutes } from './keys.ts';
import { dataProtectionRoutes } from './data-protection.ts';
import { deliveryRoutes } from './deliveries.ts';
import { retentionRoutes } from './retention.ts';
import { lookupRoutes } from './lookups.ts';
import { resendRoutes } from './resends.ts';
import { webhookRoutes } from './webhooks.ts';
import { creditRoutes } from './credits.ts';
import { logRoutes } from './log.ts';
import { matchingRoutes } from './matching.ts';
import { mergeRoutes } from './merge.ts';
import { teamRoutes } from './teams.ts';
import { traceRoutes } from './trace.ts';
import { invitationRoutes } from './invitation.ts';
import { memberRoutes } from './members.ts';
import { handOutRoutes } from './hand-out.ts';
import { learnerInvitationRoutes } from './invitations.ts';
import { inviteOneRoutes } from './invite-one.ts';
import { inviteRunRoutes } from './invite-run.ts';
import { inviteRoutes } from './invite.ts';
import { reviewChangeRoutes } from './review-change.ts';
import { reviewQuestionRoutes } from './review-question.ts';
import { reviewResultRoutes } from './review-result.ts';
import { reviewRoutes } from './review.ts';
import { learnerDetailRoutes } from './learner-details.ts';
import { learnerRoutes } from './learner.ts';
import { learnersRoutes } from './learners.ts';
import { peopleRoutes } from './people.ts';
import { resultRoutes } from './results.ts';
import { resultExportRoutes } from './results-export.ts';
import { resultImportRoutes } from './results-import.ts';
import { resultListRoutes } from './results-lists.ts';
import { resultProgressRoutes } from './results-progress.ts';
import { resultSpreadRoutes } from './results-spread.ts';
import type { ConsoleRoute } from './route.ts';
import { searchRoutes } from './search.ts';
import { sandboxRoutes } from './sandbox.ts';
import { mailRoutes } from './mails.ts';
import { settingsRoutes } from './settings.ts';
import { signInRoutes } from './sign-in.ts';
import { ssoSettingsRoutes } from './sso-settings.ts';
import { ssoRoutes } from './sso.ts';

/**
 * Every page of the console with who may open it, in the order of the navigation: the server, the menus and the test of
 * every role read it. A page is a row in a list of its own file, and that file's line here.
 */
export const consoleRoutes: readonly ConsoleRoute[] = [
  ...homeRoutes,
  ...learnersRoutes,
  ...learnerRoutes,
  ...learnerDetailRoutes,
  ...inviteRoutes,
  ...inviteRunRoutes,
  ...inviteOneRoutes,
  ...handOutRoutes,
  ...learnerInvitationRoutes,
  ...resultRoutes,
  ...resultExportRoutes,
  ...resultImportRoutes,
  ...resultListRoutes,
  ...resultSpreadRoutes,
  ...resultProgressRoutes,
  ...reviewRoutes,
  ...reviewResultRoutes,
  ...reviewQuestionRoutes,
  ...reviewChangeRoutes,
  ...matchingRoutes,
  ...mergeRoutes,
  ...groupRoutes,
  ...memberRoutes,
  ...teamRoutes,
  ...peopleRoutes,
  ...keyRoutes,
  ...keyLinkRoutes,
  ...webhookRoutes,
  ...deliveryRoutes,
  ...resendRoutes,
  ...logRoutes,
  ...traceRoutes,
  ...searchRoutes,
  ...erasureRoutes,
  ...learnerExportRoutes,
  ...creditRoutes,
  ...dataProtectionRoutes,
  ...lookupRoutes,
  ...retentionRoutes,
  ...holdRoutes,
  ...settingsRoutes,
  ...mailRoutes,
  ...sandboxRoutes,
  ...ssoSettingsRoutes,
  ...ssoRoutes,
  ...signInRoutes,
  ...invitationRoutes,
  ...accountRoutes,
];
