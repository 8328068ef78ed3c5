import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** Verifies webhook deliveries. Java 17 or newer, no dependencies. */
public final class WebhookVerifier {
    private WebhookVerifier() {}

    /**
     * Judges one delivery; accept it only if the result is "valid".
     *
     * @param secret the whole whsec_… string
     * @param header the value of X-Svc-Signature-256
     * @param body the raw bytes as they arrived
     * @param now seconds since 1970
     * @param toleranceSeconds 300
     */
    public static String verify(String secret, String header, byte[] body, long now, long toleranceSeconds)
            throws GeneralSecurityException {
        List<String> times = new ArrayList<>();
        List<String> signatures = new ArrayList<>();
        // The limit -1 keeps empty parts at the end, which make the header malformed.
        for (String part : header.split(",", -1)) {
            int equals = part.indexOf('=');
            if (equals < 1) {
                return "malformed_header";
            }
            String name = part.substring(0, equals);
            if (name.equals("t")) {
                times.add(part.substring(equals + 1));
            } else if (name.equals("v1")) {
                signatures.add(part.substring(equals + 1));
            }
        }
        if (times.size() != 1 || signatures.isEmpty() || !times.get(0).matches("[0-9]{1,12}")) {
            return "malformed_header";
        }
        // Anybody can sign with a secret that was never set, and Mac refuses an empty key.
        if (secret.isEmpty()) {
            return "no_matching_signature";
        }
        String t = times.get(0);

        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(secret.getBytes(StandardCharsets.UTF_8), "HmacSHA256"));
        mac.update((t + ".").getBytes(StandardCharsets.US_ASCII));
        byte[] expected = HexFormat.of().formatHex(mac.doFinal(body)).getBytes(StandardCharsets.US_ASCII);
        boolean genuine = false;
        // While a secret is being rotated there are two signatures; one that matches is enough.
        for (String given : signatures) {
            genuine |= MessageDigest.isEqual(expected, given.getBytes(StandardCharsets.UTF_8));
        }
        if (!genuine) {
            return "no_matching_signature";
        }

        long age = now - Long.parseLong(t);
        if (age > toleranceSeconds) {
            return "timestamp_too_old";
        }
        if (age < -toleranceSeconds) {
            return "timestamp_in_future";
        }
        return "valid";
    }
}
