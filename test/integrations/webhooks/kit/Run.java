import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Base64;

/** Reads lines of secret, header and body in base64 and the time, and prints a verdict for each. */
public final class Run {
    public static void main(String[] arguments) throws Exception {
        Base64.Decoder decoder = Base64.getDecoder();
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] fields = line.split("\t", -1);
            String secret = new String(decoder.decode(fields[0]), StandardCharsets.UTF_8);
            String header = new String(decoder.decode(fields[1]), StandardCharsets.UTF_8);
            System.out.println(WebhookVerifier.verify(secret, header, decoder.decode(fields[2]), Long.parseLong(fields[3]), 300));
        }
    }
}
