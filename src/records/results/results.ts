/** What other nouns may ask of results. */
export type { Review, ReviewFlag, ReviewOutcome } from './reviews.ts';
export { redactReviews, findReviews, passReviews } from './reviews.ts';
export {
  findLive,
  findLiveInScope,
  findLearnerAssessments,
  findStored,
  forgetReasons,
  forgetReasonsBefore,
  passResults,
  recordChanges,
  replaceLearnerJson,
} from './store.ts';
