import { accountRoutes } from './sign-in/account.ts';
import { erasureRoutes } from './learners/erasure.ts';
import { groupRoutes } from './groups/groups.ts';
import { dataProtectionRoutes } from './organisation/data-protection.ts';
import { homeRoutes } from './dashboard/home.ts';
import { keyLinkRoutes } from './keys/key-links.ts';
import { keyRoutes } from './keys/keys.ts';
import { deliveryRoutes } from './webhooks/deliveries.ts';
import { activityRoutes } from './organisation/activity.ts';
import { retentionRoutes } from './organisation/retention.ts';
import { accessLogRoutes } from './learners/access-log.ts';
import { webhookRoutes } from './webhooks/webhooks.ts';
import { creditRoutes } from './organisation/credits.ts';
import { logRoutes } from './organisation/request-log.ts';
import { matchingRoutes } from './learners/matching.ts';
import { learnerDetailRoutes } from './learners/details.ts';
import { teamRoutes } from './people/teams.ts';
import { traceRoutes } from './organisation/trace.ts';
import { invitationRoutes } from './invitations/invitation.ts';
import { memberRoutes } from './groups/members.ts';
import { followUpRoutes } from './invitations/follow-up.ts';
import { learnerInvitationRoutes } from './invitations/invitations.ts';
import { inviteOneRoutes } from './invitations/invite-one.ts';
import { inviteRunRoutes } from './invitations/invite-run.ts';
import { inviteRoutes } from './invitations/invite.ts';
import { reviewChosenRoutes } from './reviews/chosen.ts';
import { reviewChangeRoutes } from './reviews/change.ts';
import { reviewResultRoutes } from './reviews/result.ts';
import { reviewSampleRoutes } from './reviews/sample.ts';
import { reviewRoutes } from './reviews/review.ts';
import { learnerRoutes } from './learners/learner.ts';
import { chosenRoutes } from './learners/chosen.ts';
import { learnersRoutes } from './learners/learners.ts';
import { peopleRoutes } from './people/people.ts';
import { resultRoutes } from './results/results.ts';
import { resultExportRoutes, resultListRoutes } from './results/export.ts';
import { resultImportRoutes } from './results/import.ts';
import { distanceRoutes } from './results/distance.ts';
import { distributionRoutes } from './results/distribution.ts';
import { gapRoutes } from './results/gaps.ts';
import { ilrRoutes } from './results/ilr.ts';
import { scheduledReportRoutes } from './results/scheduled-reports.ts';
import { reportRoutes } from './results/reports.ts';
import type { ConsoleRoute } from './kit/route.ts';
import { viewRoutes } from './dashboard/saved-views.ts';
import { searchRoutes } from './dashboard/search.ts';
import { sandboxRoutes } from './organisation/sandbox.ts';
import { settingsRoutes } from './organisation/settings.ts';
import { signInRoutes } from './sign-in/sign-in.ts';
import { ssoRequiredRoutes } from './sign-in/sso-required.ts';
import { ssoSettingsRoutes } from './sign-in/sso-settings.ts';
import { ssoRoutes } from './sign-in/sso.ts';

/** All pages of the console in the order of the menu. The server, the menu and the test of roles use this table. */
export const consoleRoutes: readonly ConsoleRoute[] = [
  ...homeRoutes,
  ...learnersRoutes,
  ...chosenRoutes,
  ...learnerRoutes,
  ...learnerDetailRoutes,
  ...inviteRoutes,
  ...inviteRunRoutes,
  ...inviteOneRoutes,
  ...learnerInvitationRoutes,
  ...followUpRoutes,
  ...resultRoutes,
  ...resultExportRoutes,
  ...resultImportRoutes,
  ...resultListRoutes,
  ...distributionRoutes,
  ...distanceRoutes,
  ...gapRoutes,
  ...reportRoutes,
  ...scheduledReportRoutes,
  ...ilrRoutes,
  ...reviewRoutes,
  ...reviewSampleRoutes,
  ...reviewResultRoutes,
  ...reviewChosenRoutes,
  ...reviewChangeRoutes,
  ...matchingRoutes,
  ...groupRoutes,
  ...memberRoutes,
  ...teamRoutes,
  ...peopleRoutes,
  ...keyRoutes,
  ...keyLinkRoutes,
  ...webhookRoutes,
  ...deliveryRoutes,
  ...logRoutes,
  ...traceRoutes,
  ...searchRoutes,
  ...viewRoutes,
  ...erasureRoutes,
  ...creditRoutes,
  ...dataProtectionRoutes,
  ...activityRoutes,
  ...accessLogRoutes,
  ...retentionRoutes,
  ...settingsRoutes,
  ...sandboxRoutes,
  ...ssoSettingsRoutes,
  ...ssoRequiredRoutes,
  ...ssoRoutes,
  ...signInRoutes,
  ...invitationRoutes,
  ...accountRoutes,
];
