public class Main {
    public static void main(String[] args) {
        int[] a = new int[2];
        a[2] = 1;
    }
}
