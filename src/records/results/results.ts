/** The functions of results that other folders may call. */
export type { Review, ReviewFlag, ReviewOutcome } from './reviews.ts';
export { redactReviews, findReviews, transferReviews } from './reviews.ts';
export {
  findLive,
  findLiveInScope,
  findLearnerAssessments,
  findStored,
  forgetReasons,
  forgetReasonsBefore,
  transferResults,
  recordChanges,
  replaceLearnerJson,
} from './store.ts';
